//! placeholder
#[test]
fn show() {
    let cases: Vec<String> = serde_json::from_str(&std::fs::read_to_string("/tmp/cases.json").unwrap()).unwrap();
    for c in cases {
        println!("@@{}", serde_json::json!([c, super::parse(&c).err().map(|e| e.to_string())]));
    }
}

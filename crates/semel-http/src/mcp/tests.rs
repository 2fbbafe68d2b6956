use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use semel_core::Verdict;

use super::*;
use crate::rules::Class;

const PAY: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":5}}}"#;

fn read(body: &str) -> Result<Reading> {
    Mcp::default().read(&HeaderMap::new(), body.as_bytes())
}

fn call(body: &str) -> Call {
    match read(body) {
        Ok(Reading::Call(call)) => call,
        other => panic!("{body}: {other:?}"),
    }
}

#[test]
fn a_call_is_read_however_json_spells_it() {
    for body in [
        PAY.to_owned(),
        format!("\u{feff}  {PAY}\n"),
        PAY.replace("tools/call", r"\u0074ools\/call"),
        PAY.replace("\"method\"", r#""m\u0065thod""#),
        PAY.replace("pay", r"p\u0061y"),
    ] {
        assert_eq!(call(&body).tool, "pay", "{body}");
    }
}

#[test]
fn what_a_server_could_read_as_a_call_is_refused() {
    let long = format!("\"{}\"", "p".repeat(129));
    for (written, other, why) in [
        ("\"id\":1", "\"id\":1,\"method\":\"ping\"", "more than once"),
        (
            "\"id\":1",
            "\"id\":1,\"m\\u0065thod\":\"ping\"",
            "more than once",
        ),
        ("\"name\"", "\"name\":\"look\",\"name\"", "more than once"),
        ("\"method\"", "\"Method\"", "other letters"),
        ("\"params\"", "\"param\u{17f}\"", "other letters"),
        ("\"name\"", "\"NAME\"", "other letters"),
        ("tools/call", "Tools/Call", "in these letters"),
        ("tools/call", "tools/call ", "in these letters"),
        ("\"tools/call\"", "[\"tools/call\"]", "must be a text"),
        ("\"id\":1", "\"id\":null", "needs an id"),
        ("\"id\":1,", "", "needs an id"),
        ("\"pay\"", "7", "params.name"),
        ("\"pay\"", long.as_str(), "params.name"),
    ] {
        let body = PAY.replace(written, other);
        let error = read(&body).expect_err(&body).to_string();
        assert!(error.contains(why), "{body}: {error}");
    }
    for (body, why) in [
        (String::new(), "cannot be read"),
        ("{".to_owned(), "cannot be read"),
        ("\"tools/call\"".to_owned(), "cannot be read"),
        (format!("{PAY}{PAY}"), "cannot be read"),
        (format!("[{PAY}]"), "batch"),
    ] {
        let error = read(&body).expect_err(&body).to_string();
        assert!(error.contains(why), "{body}: {error}");
    }
}

#[test]
fn what_cannot_be_looked_into_is_refused() {
    for (name, value) in [
        (CONTENT_ENCODING, "gzip"),
        (CONTENT_TYPE, "application/json; charset=utf-16"),
        (HeaderName::from_static("mcp-method"), "tools/list"),
        (HeaderName::from_static("mcp-name"), "look"),
    ] {
        let headers = HeaderMap::from_iter([(name.clone(), HeaderValue::from_static(value))]);
        let read = Mcp::default().read(&headers, PAY.as_bytes());
        assert!(read.is_err(), "{name}: {value}");
    }
    for (name, value) in [
        (CONTENT_TYPE, "text/plain"),
        (CONTENT_TYPE, "application/json; charset=\"UTF-8\""),
        (HeaderName::from_static("mcp-method"), "tools/call"),
        (HeaderName::from_static("mcp-name"), "=?base64?cGF5?="),
    ] {
        let headers = HeaderMap::from_iter([(name.clone(), HeaderValue::from_static(value))]);
        let read = Mcp::default().read(&headers, PAY.as_bytes());
        assert!(matches!(read, Ok(Reading::Call(_))), "{name}: {value}");
    }
}

#[test]
fn everything_else_passes() {
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"method":"tools/call"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        "[]",
    ] {
        assert!(matches!(read(body), Ok(Reading::Other)), "{body}");
    }
}

#[test]
fn only_the_tools_that_are_named_are_guarded() {
    let guards = |tools: Tools, tool: &str| {
        let mcp = Mcp {
            tools,
            ..Mcp::default()
        };
        let read = mcp.read(&HeaderMap::new(), PAY.replace("pay", tool).as_bytes());
        read.map(|read| matches!(read, Reading::Call(_))).ok()
    };
    let names = || vec!["pay".to_owned()];
    for (tool, only, except) in [
        ("pay", Some(true), Some(false)),
        ("look", Some(false), Some(true)),
        ("Pay", None, Some(true)),
        (" pay", None, Some(true)),
    ] {
        assert_eq!(guards(Tools::Only(names()), tool), only, "{tool}");
        assert_eq!(guards(Tools::Except(names()), tool), except, "{tool}");
    }
}

#[test]
fn ids_progress_and_traces_are_not_compared_and_all_else_is() {
    let meta = |meta: &str| PAY.replace("\"name\"", &format!("\"_meta\":{meta},\"name\""));
    let first = call(PAY).compared;
    for same in [
        PAY.replace("\"id\":1", "\"id\":\"other\""),
        meta("{}"),
        meta(
            r#"{"progressToken":7,"traceparent":"00-1","io.modelcontextprotocol/clientInfo":{"name":"x"}}"#,
        ),
    ] {
        assert_eq!(call(&same).compared, first, "{same}");
    }
    for other in [
        PAY.replace('5', "6"),
        meta(r#"{"com.example/account":"b"}"#),
        PAY.replace("\"name\"", "\"requestState\":\"s\",\"name\""),
    ] {
        assert_ne!(call(&other).compared, first, "{other}");
    }
}

#[test]
fn a_response_gets_another_id_and_keeps_every_other_byte() {
    let id = |text: &str| call(&PAY.replace("\"id\":1", &format!("\"id\":{text}"))).id;
    for (message, given, expected) in [
        (
            r#"{"id":1,"result":{"id":1}}"#,
            "2",
            r#"{"id":2,"result":{"id":1}}"#,
        ),
        (
            r#"{ "result" : {"a":1.50} , "id" : 1 }"#,
            "\"x\\u0041\"",
            r#"{ "result" : {"a":1.50} , "id" : "x\u0041" }"#,
        ),
        (
            r#"{"id":null,"error":{"code":-1,"message":""}}"#,
            "12345678901234567890123",
            r#"{"id":12345678901234567890123,"error":{"code":-1,"message":""}}"#,
        ),
        (r#"{"result":{}}"#, "3", r#"{"id":3,"result":{}}"#),
    ] {
        let put = id(given).put_into(message.as_bytes()).unwrap();
        assert_eq!(put, expected.as_bytes(), "{message}");
    }
    for no_response in [
        "",
        "<html>",
        "{}",
        "[1]",
        r#"{"id":1,"method":"ping","result":1}"#,
    ] {
        assert_eq!(
            id("1").put_into(no_response.as_bytes()),
            None,
            "{no_response}"
        );
    }
}

#[test]
fn an_answer_is_final_unless_the_tool_cannot_have_run_or_may_have() {
    let release = Mcp {
        tool_errors: ToolErrors::Release,
        ..Mcp::default()
    };
    let id = call(PAY).id;
    let (keep, free, unknown) = (Class::Keep, Class::Release, Class::Unknown);
    for (body, kept, released) in [
        (r#"{"id":1,"result":{"content":[]}}"#, keep, keep),
        (r#"{"id":1.0,"result":{"isError":false}}"#, keep, keep),
        (r#"{"id":1,"result":{"isError":true}}"#, keep, free),
        (
            r#"{"id":1,"result":{"resultType":"input_required"}}"#,
            free,
            free,
        ),
        (
            r#"{"id":1,"error":{"code":-32602,"message":""}}"#,
            keep,
            keep,
        ),
        (
            r#"{"id":1,"error":{"code":-32603,"message":""}}"#,
            keep,
            keep,
        ),
        (
            r#"{"id":null,"error":{"code":-32700,"message":""}}"#,
            free,
            free,
        ),
        (
            r#"{"id":1,"error":{"code":-32042,"message":""}}"#,
            free,
            free,
        ),
        (
            r#"{"id":1,"error":{"code":-32001,"message":""}}"#,
            unknown,
            unknown,
        ),
        (r#"{"id":2,"result":{}}"#, unknown, unknown),
        (r#"{"id":"1","result":{}}"#, unknown, unknown),
        ("<html>", unknown, unknown),
        ("", unknown, unknown),
    ] {
        assert_eq!(
            Mcp::default().meaning(&id, body.as_bytes()).class,
            kept,
            "{body}"
        );
        assert_eq!(
            release.meaning(&id, body.as_bytes()).class,
            released,
            "{body}"
        );
    }
    let verdict = |body: &str| Mcp::default().meaning(&id, body.as_bytes()).verdict;
    assert_eq!(verdict(r#"{"id":1,"result":{}}"#), Verdict::Succeeded);
    assert_eq!(
        verdict(r#"{"id":1,"result":{"isError":true}}"#),
        Verdict::Failed
    );
}

#[test]
fn events_come_out_whole_however_they_arrive() {
    let stream = "\u{feff}: ping\n\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata:x\r\rid: 7\ndata\n\n";
    let expected = ["", "{\"a\":\n1}", "x", ""];
    for size in 1..stream.len() {
        let mut splitter = Splitter::default();
        let mut events = Vec::new();
        for piece in stream.as_bytes().chunks(size) {
            splitter.push(piece);
            events.extend(std::iter::from_fn(|| splitter.next_event()));
        }
        assert_eq!(splitter.rest(), "", "{size}");
        assert_eq!(events.concat(), stream.as_bytes(), "{size}");
        let data = events.iter().map(|event| Splitter::data(event));
        let data: Vec<_> = data.map(Option::unwrap_or_default).collect();
        assert_eq!(data, expected, "{size}");
    }
}

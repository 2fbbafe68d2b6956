//! A shell that pages are pasted into: a clean home, the programs of a plain machine, and ports that are free.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use super::page::{Block, blocks, missing};

/// How long a whole page may take, in seconds.
const PATIENCE: &str = "300";
/// Separates the output of blocks; the number of a block follows.
const MARK: &str = "@@ block ";
/// Ends what a page leaves running, however it ends.
const PROLOGUE: &str = "set -e\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n";

/// Pages use the same ports, and not every machine has networks of their own for them.
static TURN: Mutex<()> = Mutex::new(());

/// How a page comes by the program.
#[derive(Clone, Copy)]
pub(crate) enum Semel {
    /// It installs it itself.
    ToInstall,
    /// It is there already.
    OnPath,
    /// So are brokers, on the machine's own network.
    WithBrokers,
}

/// Where the brokers and their clients are.
const BROKERS: [&str; 3] = [
    "SEMEL_TEST_KAFKA",
    "SEMEL_TEST_RABBITMQ",
    "SEMEL_TEST_CLIENTS",
];

/// Pastes every block of a page into one shell, in order, and fails if a command does or if a block does not print what
/// the page says.
pub(crate) fn paste(page: &str, semel: Semel) {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let text = fs::read_to_string(format!("{root}/{page}")).unwrap();
    let blocks = blocks(&text);
    assert!(!blocks.is_empty(), "{page} has no block to paste");
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = tempfile::tempdir().unwrap();
    let (success, printed) = Machine::new(scratch.path(), Path::new(root), semel).run(&blocks);
    let outputs: Vec<&str> = printed.split(MARK).skip(1).collect();
    for (at, block) in blocks.iter().enumerate() {
        let output = outputs.get(at).copied().unwrap_or_default();
        let line = block.line;
        let ended = success || at + 1 < outputs.len();
        assert!(ended, "{page}:{line}: a command failed:\n{output}");
        let missing = missing(&block.stated, output);
        assert_eq!(missing, None, "{page}:{line} does not print it:\n{output}");
    }
}

/// What the shell sees.
struct Machine {
    home: PathBuf,
    programs: PathBuf,
    script: PathBuf,
    output: PathBuf,
    semel: Semel,
}

impl Machine {
    fn new(scratch: &Path, root: &Path, semel: Semel) -> Self {
        let machine = Self {
            home: scratch.join("home"),
            programs: scratch.join("programs"),
            script: scratch.join("script"),
            output: scratch.join("output"),
            semel,
        };
        let checkout = machine.home.join("semel");
        fs::create_dir_all(&checkout).unwrap();
        fs::create_dir_all(&machine.programs).unwrap();
        // A page that installs something begins in a checkout.
        let crates = fs::canonicalize(root.join("crates")).unwrap();
        std::os::unix::fs::symlink(crates, checkout.join("crates")).unwrap();
        match semel {
            Semel::ToInstall => machine.program("cargo", CARGO),
            Semel::OnPath => machine.program("semel", SEMEL),
            Semel::WithBrokers => {
                machine.program("semel", SEMEL);
                machine.program("cargo", &services());
            }
        }
        let python = super::python();
        machine.program("python3", &format!("exec '{python}' \"$@\"\n"));
        machine
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.programs.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Whether all went well, and what was printed.
    fn run(&self, blocks: &[Block]) -> (bool, String) {
        fs::write(&self.script, script(blocks)).unwrap();
        // Processes in the background keep it open, so it is a file and no pipe.
        let output = fs::File::create(&self.output).unwrap();
        let path = format!(
            "{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            self.programs.display()
        );
        let mut shell = match self.semel {
            Semel::ToInstall | Semel::OnPath => alone(&["bash"]),
            Semel::WithBrokers => limited(&["bash"]),
        };
        shell
            .arg(&self.script)
            .current_dir(self.home.join("semel"))
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", path)
            .env("LANG", "C.UTF-8")
            .env("SEMEL_BUILT", env!("CARGO_BIN_EXE_semel"))
            .stdin(Stdio::null())
            .stderr(output.try_clone().unwrap())
            .stdout(output);
        let ended = shell.status().expect("timeout and bash");
        let printed = fs::read(&self.output).unwrap();
        (ended.success(), String::from_utf8_lossy(&printed).into())
    }
}

/// The program that was built for the tests.
const SEMEL: &str = "exec \"$SEMEL_BUILT\" \"$@\"\n";

/// `cargo xtask services up` names what the tests were given, and nothing is built or stopped.
fn services() -> String {
    let exports = BROKERS.map(|name| {
        let value = std::env::var(name);
        let value = value.unwrap_or_else(|_| {
            panic!(
                "{name} is not set; start it with `cargo xtask services up kafka rabbitmq clients`"
            )
        });
        format!("echo \"export {name}='{value}'\"\n")
    });
    format!(
        "test \"$2\" = services && test \"$3\" = up || exit 0\n{}",
        exports.concat()
    )
}

/// `cargo install` takes the program that was built for the tests instead of building another; a page asks cargo for
/// nothing else.
const CARGO: &str = r#"
case "$*" in
"install --locked --path crates/semel-cli") ;;
*) echo "cargo $*: the test knows only cargo install --locked --path crates/semel-cli" >&2; exit 101 ;;
esac
grep -q '^name = "semel"$' crates/semel-cli/Cargo.toml
mkdir -p "$HOME/.cargo/bin"
ln -s "$SEMEL_BUILT" "$HOME/.cargo/bin/semel"
"#;

fn script(blocks: &[Block]) -> String {
    let pasted = (1..).zip(blocks).map(|(number, block)| {
        let commands = &block.commands;
        format!("echo '{MARK}{number}'\n{commands}\n")
    });
    std::iter::once(PROLOGUE.to_owned()).chain(pasted).collect()
}

/// A command with a limit of time, in a network and among processes of its own where the kernel allows that: the ports of a page are
/// free there, and nothing outlives it. Elsewhere it takes the machine's ports.
fn alone(command: &[&str]) -> Command {
    const NAMESPACES: [&str; 7] = [
        "unshare",
        "--user",
        "--map-root-user",
        "--net",
        "--pid",
        "--fork",
        "--kill-child",
    ];
    let has_namespaces = Command::new("unshare")
        .args(&NAMESPACES[1..])
        .args(["ip", "link", "set", "lo", "up"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|ended| ended.success());
    if !has_namespaces {
        return limited(command);
    }
    let mut inside = NAMESPACES.to_vec();
    inside.extend(["sh", "-c", "ip link set lo up && exec \"$@\"", "alone"]);
    inside.extend(command);
    limited(&inside)
}

/// A command with a limit of time.
fn limited(command: &[&str]) -> Command {
    let mut limited = Command::new("timeout");
    limited.args(["--kill-after=5", PATIENCE]).args(command);
    limited
}

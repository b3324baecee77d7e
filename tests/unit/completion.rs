//! What `tatara completion` prints, used by a shell.

use std::process::Command;

const TATARA: &str = env!("CARGO_BIN_EXE_tatara");

fn completion(shell: &str) -> String {
    let output = Command::new(TATARA).args(["completion", shell]).output();
    let output = output.expect("the program");
    assert!(output.status.success(), "{shell}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn bash_zsh_and_fish_are_told_every_command_and_its_options() {
    for shell in ["bash", "zsh", "fish"] {
        let script = completion(shell);
        for word in [
            "manager",
            "describe",
            "kubeconfig",
            "logs",
            "machine",
            "machinedeployment",
            "hypervisor",
            "crds",
            "until-ready",
            "follow",
        ] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn bash_completes_a_command_and_an_option() {
    for (words, expected) in [
        ("tatara desc", "describe"),
        ("tatara logs mach", "machine"),
        ("tatara describe clus", "cluster"),
        (
            "tatara describe machine",
            "machine machineset machinedeployment machineclass",
        ),
        ("tatara describe cluster --until", "--until-ready"),
        ("tatara describe cluster demo -o w", "wide"),
        ("tatara describe machine a --until", "--until-ready"),
    ] {
        let script = format!(
            "source <({TATARA} completion bash)
            COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
            _tatara tatara \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD - 1]}}\"
            echo \"${{COMPREPLY[*]}}\""
        );
        let output = Command::new("bash").args(["-ec", &script]).output();
        let output = output.expect("bash");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said.trim(), expected, "{words}");
    }
}

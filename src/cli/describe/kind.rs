//! The kinds that can be described, by every name that kubectl accepts.

use std::fmt;
use std::sync::LazyLock;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use tatara_core::api::crd;

/// A kind that can be described.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    #[default]
    Cluster,
    Machine,
    MachineSet,
    MachineDeployment,
    MachineClass,
    Host,
    Hypervisor,
}

static DEFINITIONS: LazyLock<Vec<CustomResourceDefinition>> = LazyLock::new(crd::all);

impl Kind {
    /// All kinds, in the order of messages and help.
    pub const ALL: [Self; 7] = [
        Self::Cluster,
        Self::Machine,
        Self::MachineSet,
        Self::MachineDeployment,
        Self::MachineClass,
        Self::Host,
        Self::Hypervisor,
    ];

    /// The name in manifests.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cluster => "Cluster",
            Self::Machine => "Machine",
            Self::MachineSet => "MachineSet",
            Self::MachineDeployment => "MachineDeployment",
            Self::MachineClass => "MachineClass",
            Self::Host => "Host",
            Self::Hypervisor => "Hypervisor",
        }
    }

    /// The name in commands.
    pub const fn singular(self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::Machine => "machine",
            Self::MachineSet => "machineset",
            Self::MachineDeployment => "machinedeployment",
            Self::MachineClass => "machineclass",
            Self::Host => "host",
            Self::Hypervisor => "hypervisor",
        }
    }

    /// The kind of this name: singular, plural or short, also with its group as in
    /// `machines.cluster.k8s.io`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.to_lowercase();
        let (name, group) = text.split_once('.').unwrap_or((&text, ""));
        let is_named = |crd: &&CustomResourceDefinition| {
            let names = &crd.spec.names;
            let mut others = names.short_names.iter().flatten();
            (group.is_empty() || group == crd.spec.group)
                && (names.kind.to_lowercase() == name
                    || names.plural == name
                    || others.any(|short| short == name))
        };
        let crd = DEFINITIONS.iter().find(is_named)?;
        let mut all = Self::ALL.into_iter();
        all.find(|kind| kind.as_str() == crd.spec.names.kind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The first argument: a kind, or KIND/NAME.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct What {
    /// The kind.
    pub kind: Kind,
    /// The name after the slash, if any.
    pub name: Option<String>,
}

impl What {
    fn parse(text: &str) -> Result<Self, String> {
        let (kind, name) = match text.split_once('/') {
            Some((kind, name)) => (kind, Some(name)),
            None => (text, None),
        };
        if name.is_some_and(|name| name.is_empty() || name.contains('/')) {
            return Err(format!("{text:?} does not name an object; use KIND/NAME\n"));
        }
        let known = Kind::parse(kind).ok_or_else(|| {
            let all = Kind::ALL.map(Kind::singular).join(", ");
            format!("{kind:?} is not a kind of Tatara; use one of {all}\n")
        })?;
        Ok(Self {
            kind: known,
            name: name.map(str::to_owned),
        })
    }
}

/// Parses [`What`], and lists the kinds for completion and help.
#[derive(Clone, Copy, Debug)]
pub struct WhatParser;

impl TypedValueParser for WhatParser {
    type Value = What;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<What, clap::Error> {
        What::parse(&value.to_string_lossy())
            .map_err(|why| clap::Error::raw(ErrorKind::InvalidValue, why).with_cmd(command))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let all = Kind::ALL.into_iter();
        Some(Box::new(
            all.map(|kind| PossibleValue::new(kind.singular())),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_that_is_installed_can_be_described_by_every_name_of_it() {
        for crd in crd::all() {
            let names = crd.spec.names;
            let short = names.short_names.unwrap_or_default();
            let with_group = format!("{}.{}", names.plural, crd.spec.group);
            let all = [names.plural, names.kind.clone(), with_group];
            for name in all.into_iter().chain(names.singular).chain(short) {
                for name in [name.to_lowercase(), name.to_uppercase()] {
                    let kind = Kind::parse(&name).map(Kind::as_str);
                    assert_eq!(kind, Some(names.kind.as_str()), "{name}");
                }
            }
        }
    }

    #[test]
    fn a_kind_and_a_name_may_come_as_one() {
        for (text, expected) in [
            ("machine", Ok((Kind::Machine, None))),
            ("ma/web-0", Ok((Kind::Machine, Some("web-0")))),
            ("Hosts/a", Ok((Kind::Host, Some("a")))),
            ("machine/", Err("does not name an object")),
            ("machine/a/b", Err("does not name an object")),
            (
                "pod/a",
                Err("\"pod\" is not a kind of Tatara; use one of cluster, machine,"),
            ),
            ("machines.apps", Err("is not a kind of Tatara")),
        ] {
            match (What::parse(text), expected) {
                (Ok(what), Ok((kind, name))) => {
                    assert_eq!((what.kind, what.name.as_deref()), (kind, name));
                }
                (Err(why), Err(says)) => assert!(why.contains(says), "{why}"),
                (what, _) => panic!("{text}: {what:?}"),
            }
        }
    }
}

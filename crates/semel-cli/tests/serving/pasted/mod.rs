//! Pages that are true: every shell block of them works as it is pasted, in order, on a clean home directory.

mod page;
mod shell;

use crate::python::python;
use shell::{Semel, paste};

#[test]
fn every_shell_block_of_the_readme_works_as_pasted() {
    paste("README.md", Semel::ToInstall);
}

#[test]
fn every_shell_block_of_the_guide_to_http_services_works_as_pasted() {
    paste("docs/guides/http-service.md", Semel::OnPath);
}

#[test]
fn every_shell_block_of_the_tour_of_brokers_works_as_pasted() {
    paste("docs/sources/tour.md", Semel::WithBrokers);
}

#[test]
fn every_shell_block_of_the_guide_to_webhooks_works_as_pasted() {
    paste("docs/guides/webhooks.md", Semel::OnPath);
}

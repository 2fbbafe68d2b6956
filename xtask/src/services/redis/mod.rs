//! Redis from the system's packages: one server, and a cluster of six.
//!
//! Each process is a [`node`]; [`single`] and [`cluster`] are the two services made of
//! them. Every node syncs its log once a second and evicts nothing, as the
//! documentation asks of a server that Semel's records are kept in. It listens on loopback
//! only and wants a password, because other users of the machine can reach loopback too.

mod cluster;
mod node;
mod single;
mod wire;

pub(super) use cluster::RedisCluster;
pub(super) use single::Redis;

//! The errors of librdkafka as those of the core: what passes by itself, and what a person must change.

use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use semel_core::{Error, Kind};

/// What a code means.
pub(crate) const fn kind(code: Code) -> Kind {
    match code {
        Code::UnknownTopicOrPartition
        | Code::UnknownTopic
        | Code::UnknownPartition
        | Code::InvalidTopic
        | Code::TopicAuthorizationFailed
        | Code::GroupAuthorizationFailed
        | Code::ClusterAuthorizationFailed
        | Code::TransactionalIdAuthorizationFailed
        | Code::SaslAuthenticationFailed
        | Code::Authentication
        | Code::UnsupportedSASLMechanism
        | Code::UnsupportedVersion
        | Code::UnsupportedFeature
        | Code::InvalidGroupId
        | Code::InvalidSessionTimeout
        | Code::InconsistentGroupProtocol
        | Code::FencedInstanceId
        | Code::InvalidConfig
        | Code::InvalidArgument
        | Code::SSL => Kind::Invalid,
        _ => Kind::Unavailable,
    }
}

/// The code of an error; the binding does not say that of admin requests.
pub(crate) fn code(error: &KafkaError) -> Option<Code> {
    match error {
        KafkaError::AdminOp(code) => Some(*code),
        error => error.rdkafka_error_code(),
    }
}

/// An error of the core with what was being done.
pub(crate) fn map(doing: &str, error: KafkaError) -> Error {
    let kind = match (&error, code(&error)) {
        // The text of these may hold the configuration, and so a password.
        (KafkaError::ClientConfig(_, why, name, _), _) => {
            return Error::invalid(format!("{doing}: {name}: {why}"));
        }
        (_, Some(code)) => kind(code),
        (KafkaError::ClientCreation(_), None) => Kind::Invalid,
        (_, None) => Kind::Unavailable,
    };
    let said = match code(&error) {
        Some(code) => code.to_string(),
        None => error.to_string(),
    };
    Error::new(kind, format!("{doing}: {said}"))
}

/// A topic that is not there.
pub(crate) fn missing(topic: &str) -> Error {
    Error::invalid(format!(
        "the topic {topic:?} does not exist at the broker, and is not created by reading it"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_tried_again_and_what_does_not_is_shown() {
        for (code, is_retryable) in [
            (Code::BrokerTransportFailure, true),
            (Code::AllBrokersDown, true),
            (Code::RebalanceInProgress, true),
            (Code::SaslAuthenticationFailed, false),
            (Code::TopicAuthorizationFailed, false),
            (Code::FencedInstanceId, false),
            (Code::TransactionalIdAuthorizationFailed, false),
        ] {
            let error = map("x", KafkaError::AdminOp(code));
            assert_eq!(error.is_retryable(), is_retryable, "{error}");
            let error = map("x", KafkaError::MessageConsumption(code));
            assert_eq!(error.is_retryable(), is_retryable, "{error}");
        }
        let fields = (
            rdkafka::types::RDKafkaConfRes::RD_KAFKA_CONF_INVALID,
            "why".to_owned(),
            "sasl.password".to_owned(),
            "secret".to_owned(),
        );
        let error = KafkaError::ClientConfig(fields.0, fields.1, fields.2, fields.3);
        assert!(!format!("{:?}", map("x", error)).contains("secret"));
    }
}

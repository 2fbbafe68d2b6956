//! The engine for messages: sources, workers, delivery, steps, intents.

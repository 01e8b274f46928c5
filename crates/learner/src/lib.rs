//! GP4C: genetic programming learns the score formula from recorded page changes.

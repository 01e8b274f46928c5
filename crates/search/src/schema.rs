//! The fields of an indexed page.

use crate::words::STEMS;
use std::sync::LazyLock;
use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};

/// The fields.
pub(crate) struct IndexFields {
    /// All of them.
    pub schema: Schema,
    /// By which a page is deleted.
    pub id: Field,
    /// As it is shown; not searched.
    pub url: Field,
    /// Host name, and `*.` before it and each domain above.
    pub host: Field,
    /// Name of the language in which it is stemmed.
    pub language: Field,
    /// Title as it is shown.
    pub shown_title: Field,
    /// Words of the title.
    pub title: Field,
    /// Words of the headings.
    pub headings: Field,
    /// Words of title and text.
    pub text: Field,
    /// Seconds since 1970.
    pub fetched_at: Field,
}

/// One schema for all indexes. An index with another one is made anew.
pub(crate) static FIELDS: LazyLock<IndexFields> = LazyLock::new(|| fields(&STEMS));

/// The fields, whose words are made by a tokenizer of this name.
pub(crate) fn fields(stems: &str) -> IndexFields {
    let words = |option| {
        let indexing = TextFieldIndexing::default().set_tokenizer(stems).set_index_option(option);
        TextOptions::default().set_indexing_options(indexing)
    };
    let mut builder = Schema::builder();
    let [id, host] = ["id", "host"].map(|name| builder.add_text_field(name, STRING));
    let [url, shown_title] = ["url", "shown_title"].map(|name| builder.add_text_field(name, STORED));
    let language = builder.add_text_field("language", STRING | STORED);
    let [title, headings] =
        ["title", "headings"].map(|name| builder.add_text_field(name, words(IndexRecordOption::WithFreqs)));
    let text = builder.add_text_field("text", words(IndexRecordOption::WithFreqsAndPositions));
    let fetched_at = builder.add_u64_field("fetched_at", FAST | STORED);
    IndexFields {
        schema: builder.build(),
        id,
        url,
        host,
        language,
        shown_title,
        title,
        headings,
        text,
        fetched_at,
    }
}

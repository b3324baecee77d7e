//! All sentences in one file: who changes one sees it there, beside those that say something like it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::sources::all;

/// The text of a string, as far as it is needed to read it: escapes of quotes and ends of lines.
fn read(string: &str) -> String {
    let text = string.trim_start_matches('r').trim_matches('#');
    let mut text = text.trim_matches('"').replace("\\\"", "\"");
    while let Some((before, after)) = text.split_once("\\\n") {
        text = format!("{before}{}", after.trim_start());
    }
    text.replace('\n', "\\n")
}

/// Three words, the first of which is no command, path or pattern.
fn is_sentence(text: &str) -> bool {
    let words: Vec<&str> = text.split(' ').collect();
    let is_word = |word: &&str| word.chars().filter(char::is_ascii_lowercase).count() > 1;
    words.len() > 2 && words.iter().filter(|word| is_word(word)).count() > 2
}

#[test]
fn every_sentence_of_the_program_is_in_one_file() {
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in all() {
        let texts = source.strings().into_iter().map(|string| read(&string));
        let sentences: Vec<String> = texts.filter(|text| is_sentence(text)).collect();
        if !sentences.is_empty() {
            files.insert(format!("{}/{}", source.krate, source.path), sentences);
        }
    }
    let mut page = String::new();
    for (file, sentences) in &files {
        writeln!(page, "{file}").expect("memory");
        for sentence in sentences {
            writeln!(page, "  {sentence}").expect("memory");
        }
    }
    insta::assert_snapshot!("sentences", page);
}

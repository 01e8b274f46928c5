use super::*;
use crate::testing::Nobody;
use recrawl_vault::store::MemoryStore;
use recrawl_vault::store::faulty::{Faults, FaultyStore};
use std::sync::Mutex;

const OF: u32 = 4;

/// The asker waits for as many looks of an owner as there are times.
struct Owner {
    questions: Mutex<QuestionBox>,
    /// The time of each look.
    looks: Vec<u64>,
    answer: Box<dyn Fn(String) -> Option<String> + Send + Sync>,
}

impl ExchangePatience for Owner {
    fn wait(&self, times: u64) -> bool {
        let Some(now) = self.looks.get(times as usize) else { return false };
        let mut questions = self.questions.lock().unwrap();
        for (nonce, question) in questions.look::<String>(*now).unwrap() {
            questions.answer(&nonce, (self.answer)(question).as_ref()).unwrap();
        }
        true
    }
}

fn owner(store: &Arc<MemoryStore>, looks: &[u64]) -> Owner {
    let questions = Mutex::new(QuestionBox::new(store.clone(), OF));
    Owner { questions, looks: looks.into(), answer: Box::new(|asked| Some(format!("{asked}!"))) }
}

fn put(store: &MemoryStore, nonce: &str, question: &[u8]) {
    store.create(&key::question(OF, nonce), question).unwrap();
    store.replace(&key::bell(OF), nonce.as_bytes()).unwrap();
}

fn looked(questions: &mut QuestionBox, now: u64) -> Vec<String> {
    questions.look::<String>(now).unwrap().into_iter().map(|(nonce, _)| nonce).collect()
}

fn keys(store: &MemoryStore) -> Vec<String> {
    let all = store.list(&key::questions(OF)).unwrap();
    all.into_iter().map(|object| object.key[key::questions(OF).len()..].to_owned()).collect()
}

#[test]
fn a_question_is_answered_once_and_nothing_stays() {
    let store = Arc::new(MemoryStore::new());
    let owner = owner(&store, &[1_000, 1_500]);
    let asked = |nonce| ask::<String>(&*store, OF, nonce, &"who", &owner).unwrap();
    assert_eq!(asked("q1"), QuestionEnd::Answered("who!".into()));
    assert_eq!(asked("q2"), QuestionEnd::Answered("who!".into()));
    assert_eq!(keys(&store), [""; 0]);
    // Given once, also if an answer has not arrived yet, and not by a second owner once it has.
    put(&store, "q3", b"\"what\"");
    let mut questions = QuestionBox::new(store.clone(), OF);
    assert_eq!((looked(&mut questions, 0), looked(&mut questions, 1)), (vec!["q3".to_owned()], vec![]));
    questions.answer("q3", Some(&"first")).unwrap();
    questions.answer("q3", Some(&"second")).unwrap();
    assert_eq!(looked(&mut QuestionBox::new(store.clone(), OF), 0), [""; 0]);
    let found = ask::<String>(&*store, OF, "q3", &"what", &Nobody).unwrap();
    assert_eq!(found, QuestionEnd::Answered("first".into()), "the same question, asked again");
}

#[test]
fn an_owner_that_is_away_answers_nobody_and_its_successor_removes_what_is_left() {
    let store = Arc::new(MemoryStore::new());
    assert_eq!(ask::<String>(&*store, OF, "q1", &"who", &Nobody).unwrap(), QuestionEnd::Unanswered);
    assert_eq!(keys(&store), [""; 0]);
    // Two that were killed while they waited: one question, and one answer that came too late.
    put(&store, "q2", b"\"who\"");
    let mut questions = QuestionBox::new(store.clone(), OF);
    questions.answer("q3", Some(&"late")).unwrap();
    assert_eq!(looked(&mut questions, 1_000), ["q2"]);
    questions.answer("q2", Some(&"nobody waits")).unwrap();
    looked(&mut questions, 1_000 + KEPT - 1);
    assert_eq!(keys(&store), ["q2", "q2-answer", "q3-answer"]);
    looked(&mut questions, 1_000 + KEPT);
    assert_eq!(keys(&store), [""; 0]);
}

#[test]
fn an_owner_that_is_not_asked_makes_one_read_and_one_that_is_looks_soon_again() {
    let store = Arc::new(MemoryStore::new());
    let mut questions = QuestionBox::new(store.clone(), OF);
    // Before the bell is rung, a question is not looked for.
    store.create(&key::question(OF, "q1"), b"\"who\"").unwrap();
    assert_eq!((looked(&mut questions, 0), questions.wait(0)), (vec![], IDLE));
    store.replace(&key::bell(OF), b"q1").unwrap();
    assert_eq!((looked(&mut questions, IDLE), questions.wait(IDLE)), (vec!["q1".to_owned()], BUSY));
    assert_eq!(questions.wait(IDLE + BUSY_FOR), IDLE);
}

#[test]
fn a_store_that_fails_leaves_no_question_out_and_gives_none_twice() {
    let objects = Arc::new(MemoryStore::new());
    let names: Vec<String> = (0..20).map(|number| format!("q{number:02}")).collect();
    names.iter().for_each(|name| put(&objects, name, b"\"who\""));
    let store = FaultyStore::new(objects, 3, Faults { before: 100, after: 100, late: 0 });
    let (mut questions, mut given, mut failures) = (QuestionBox::new(Arc::new(store), OF), Vec::new(), 0);
    for now in 0..LATE / BUSY {
        match questions.look::<String>(now * BUSY) {
            Ok(some) => given.extend(some.into_iter().map(|(name, _)| name)),
            Err(_) => failures += 1,
        }
    }
    assert_eq!(given, names);
    assert!(failures > 3, "{failures}");
}

#[test]
fn an_answer_that_is_too_long_is_told_and_one_that_is_damaged_is_an_error() {
    let store = Arc::new(MemoryStore::new());
    let mut owner = owner(&store, &[0]);
    owner.answer = Box::new(|_| Some("x".repeat(MAX_ANSWER)));
    assert_eq!(ask::<String>(&*store, OF, "q1", &"who", &owner).unwrap(), QuestionEnd::TooLong);
    owner.answer = Box::new(|_| None);
    assert_eq!(ask::<String>(&*store, OF, "q2", &"who", &owner).unwrap(), QuestionEnd::TooLong);
    store.create(&key::answer(OF, "q3"), b"{").unwrap();
    let error = ask::<String>(&*store, OF, "q3", &"who", &Nobody).unwrap_err();
    assert!(matches!(error, VaultError::Damaged { .. }), "{error}");
}

#[test]
fn garbage_is_left_out_and_removed_and_stops_nobody() {
    let store = Arc::new(MemoryStore::new());
    put(&store, "a1", b"not JSON");
    put(&store, "a2", &vec![b'"'; MAX_QUESTION as usize + 1]);
    put(&store, "a3", b"{\"no\": \"text\"}");
    put(&store, "q4", b"\"who\"");
    let mut questions = QuestionBox::new(store.clone(), OF);
    assert_eq!(looked(&mut questions, 0), ["q4"]);
    looked(&mut questions, KEPT);
    assert_eq!(keys(&store), [""; 0]);
}

#[test]
fn a_flood_is_answered_some_by_some_and_what_is_late_is_not() {
    let store = Arc::new(MemoryStore::new());
    for number in 0..100 {
        put(&store, &format!("q{number:02}"), b"\"who\"");
    }
    let mut questions = QuestionBox::new(store.clone(), OF);
    assert_eq!(looked(&mut questions, 0).len(), MAX_ANSWERED);
    // One that comes later has its turn behind those.
    put(&store, "a", b"\"who\"");
    let next = looked(&mut questions, BUSY);
    assert_eq!((next.len(), next[0].as_str()), (MAX_ANSWERED, "q08"));
    assert_eq!(looked(&mut questions, LATE), ["a"], "the first ones have gone, or are late");
    let mut looks = 0;
    while !keys(&store).is_empty() {
        looked(&mut questions, LATE + KEPT);
        looks += 1;
    }
    assert_eq!(looks, 101_usize.div_ceil(MOST_REMOVED));
}

#[test]
fn of_a_flood_only_so_much_is_remembered_and_all_is_removed() {
    let store = Arc::new(MemoryStore::new());
    for number in 0..MAX_SEEN + 40 {
        put(&store, &format!("q{number:04}"), b"\"who\"");
    }
    let mut questions = QuestionBox::new(store.clone(), OF);
    assert_eq!(looked(&mut questions, 0).len(), MAX_ANSWERED);
    let mut now = LATE;
    while !keys(&store).is_empty() && now < 10 * KEPT {
        now += BUSY;
        looked(&mut questions, now);
        assert!(questions.seen.len() <= MAX_SEEN);
    }
    assert_eq!(keys(&store), [""; 0]);
    assert!(questions.seen.is_empty());
}

use futures::future::{pending, ready as at_once};
use tower::service_fn;

use super::*;

const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_millis(900);
const AMPLE: Duration = Duration::from_mins(2);

fn request(uri: &str) -> Request<Body> {
    Request::get(uri).body(Body::empty()).unwrap()
}

fn patience<S>(service: S, call: Duration, silence: Duration) -> Patience<S> {
    Patience {
        service,
        call,
        silence,
        share: None,
    }
}

/// So many pieces, 50 ms apart; after the last it is silent for ever.
struct Pieces {
    left: u32,
    next: Pin<Box<Sleep>>,
}

const APART: Duration = Duration::from_millis(50);

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.left == 0 {
            return Poll::Pending;
        }
        ready!(self.next.as_mut().poll(cx));
        self.left -= 1;
        self.next.as_mut().reset(Instant::now() + APART);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
    }
}

/// How many of these pieces come, and with which error it ends.
async fn ask(uri: &str, pieces: u32, call: Duration, silence: Duration) -> (u32, String) {
    let pieces = move |_| {
        let next = Box::pin(sleep_until(Instant::now() + APART));
        let body = Pieces { left: pieces, next };
        at_once(Ok::<_, BoxError>(Response::new(body)))
    };
    let mut service = patience(service_fn(pieces), call, silence);
    let mut body = service.call(request(uri)).await.unwrap().into_body();
    let mut came = 0;
    loop {
        let frame = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
        match frame {
            Some(Ok(_)) => came += 1,
            Some(Err(error)) => return (came, error.to_string()),
            None => unreachable!("it has no end"),
        }
    }
}

#[tokio::test]
async fn a_server_that_takes_a_request_and_never_answers_is_given_up() {
    for uri in ["/api/v1/nodes", "/api/v1/nodes?watch=true"] {
        let silent = service_fn(|_| pending::<Result<Response<Pieces>, BoxError>>());
        let mut service = patience(silent, SHORT, LONG);
        let error = service.call(request(uri)).await.err().unwrap();
        assert_eq!(error.to_string(), "no answer within 300ms", "{uri}");
    }
}

#[tokio::test]
async fn an_answer_has_to_end_however_often_a_piece_of_it_comes() {
    let (came, error) = ask("/api/v1/nodes?limit=500", 1_000, SHORT, LONG).await;
    assert!(came < 100, "{came}");
    assert_eq!(error, "no answer within 300ms");
}

#[tokio::test]
async fn a_watch_goes_on_while_anything_comes_and_ends_in_silence() {
    // thirty pieces take longer than either limit
    let (came, error) = ask("/api/v1/nodes?limit=500&watch=true", 30, SHORT, LONG).await;
    assert_eq!(came, 30);
    assert_eq!(error, "no answer within 900ms");
}

/// A server that always has the next piece ready.
struct Flood(&'static [u8]);

impl HttpBody for Flood {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(self.0)))))
    }
}

async fn flooded(uri: &str, piece: &'static [u8], share: Option<Arc<Share>>) -> (usize, String) {
    let flood = move |_| at_once(Ok::<_, BoxError>(Response::new(Flood(piece))));
    // a busy machine takes its time to count the bytes that a share allows
    let (call, silence) = match share {
        Some(_) => (AMPLE, AMPLE),
        None => (SHORT, LONG),
    };
    let mut service = Patience {
        share,
        ..patience(service_fn(flood), call, silence)
    };
    let mut body = service.call(request(uri)).await.unwrap().into_body();
    let mut bytes = 0;
    loop {
        match std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            Some(Ok(frame)) => bytes += frame.data_ref().unwrap().len(),
            Some(Err(error)) => return (bytes, error.to_string()),
            None => unreachable!("it has no end"),
        }
        // as a reader on a runtime does
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_stream_without_a_pause_ends_in_time_as_well() {
    let (_, error) = flooded("/api/v1/nodes", b"x", None).await;
    assert_eq!(error, "no answer within 300ms");
}

#[tokio::test]
async fn an_endless_answer_and_an_endless_line_cost_no_more_than_their_limits() {
    static PIECE: [u8; 64 << 10] = [b'x'; 64 << 10];
    let cases = [
        ("/api/v1/nodes", 16 << 20, "16 MiB in one answer"),
        (
            "/api/v1/nodes?watch=true",
            4 << 20,
            "4 MiB in one line of a watch",
        ),
    ];
    for (uri, limit, what) in cases {
        let share = Share::of(&Uri::from_static("https://192.0.2.1:6443"), "default");
        let (bytes, error) = flooded(uri, &PIECE, Some(share)).await;
        assert_eq!(bytes, limit, "{error}");
        let said = format!("the server 192.0.2.1:6443 sent more than {what};");
        assert!(error.starts_with(&said), "{error}");
    }
}

#[tokio::test]
async fn a_redirect_is_an_error_that_names_the_server() {
    let circle = |_| {
        let answer = Response::builder()
            .status(302)
            .header("Location", "/readyz");
        at_once(Ok::<_, BoxError>(answer.body(Flood(b"x")).unwrap()))
    };
    let share = Share::of(&Uri::from_static("https://192.0.2.1:6443"), "default");
    let mut service = Patience::with(service_fn(circle), Some(share));
    let error = service.call(request("/readyz")).await.err().unwrap();
    let said = "the server 192.0.2.1:6443 answers with a redirect, which is not followed";
    assert!(error.to_string().starts_with(said), "{error}");
}

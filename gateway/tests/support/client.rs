//! A client of the gateway.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Once;

use reqwest::{Certificate, ClientBuilder, Identity, Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use super::pki::Leaf;

/// A client of the gateway.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub kind: String,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The word for programs of a problem.
    pub fn code(&self) -> String {
        assert_eq!(self.kind, "application/problem+json", "{self:?}");
        let body = self.json();
        assert_eq!(body["status"], self.status.as_u16(), "{self:?}");
        body["code"].as_str().expect("a code").to_owned()
    }
}

fn builder() -> ClientBuilder {
    static RING: Once = Once::new();
    RING.call_once(|| {
        rustls::crypto::ring::default_provider()
            .install_default()
            .expect("ring alone");
    });
    reqwest::Client::builder()
}

impl Client {
    pub fn socket(path: &Path) -> Self {
        let http = builder().unix_socket(path).build().expect("a client");
        Self {
            http,
            base: "http://gateway".to_owned(),
            token: None,
        }
    }

    /// A client over HTTPS, with what it has to show.
    pub fn https(address: &str, authority: &str, token: Option<&str>, leaf: Option<&Leaf>) -> Self {
        Self::built(builder(), address, authority, (token, leaf))
    }

    /// The same, from another address of this machine.
    pub fn https_from(from: &str, address: &str, authority: &str, token: Option<&str>) -> Self {
        let builder = builder().local_address(from.parse::<IpAddr>().expect("an address"));
        Self::built(builder, address, authority, (token, None))
    }

    fn built(
        builder: ClientBuilder,
        address: &str,
        authority: &str,
        (token, leaf): (Option<&str>, Option<&Leaf>),
    ) -> Self {
        let authority = Certificate::from_pem(authority.as_bytes()).expect("an authority");
        let mut builder = builder.tls_certs_only([authority]);
        if let Some(leaf) = leaf {
            let pem = format!("{}{}", leaf.certificate, leaf.key);
            builder = builder.identity(Identity::from_pem(pem.as_bytes()).expect("an identity"));
        }
        let http = builder.build().expect("a client");
        let port = address.rsplit(':').next().expect("a port");
        Self {
            http,
            base: format!("https://localhost:{port}"),
            token: token.map(str::to_owned),
        }
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    pub async fn send(&self, request: RequestBuilder) -> Answer {
        self.try_send(request).await.expect("an answer")
    }

    pub async fn try_send(&self, request: RequestBuilder) -> reqwest::Result<Answer> {
        let response = request.send().await?;
        let kind = response.headers().get("content-type");
        let kind = kind
            .map_or("", |kind| kind.to_str().expect("text"))
            .to_owned();
        Ok(Answer {
            status: response.status(),
            kind,
            text: response.text().await?,
        })
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(self.request(Method::DELETE, path)).await
    }

    fn body(&self, method: Method, path: &str, body: &Value) -> RequestBuilder {
        let kind = ("content-type", "application/json");
        self.request(method, path)
            .header(kind.0, kind.1)
            .body(body.to_string())
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(self.body(Method::PUT, path, body)).await
    }

    pub async fn create(&self, id: Uuid, spec: &Value) -> Answer {
        self.put(&machine(id), &json!({"spec": spec})).await
    }

    pub async fn power(&self, id: Uuid, action: &str) -> Answer {
        let path = format!("{}/power", machine(id));
        self.send(self.body(Method::POST, &path, &json!({"action": action})))
            .await
    }

    pub async fn capacity(&self) -> Value {
        self.get("/v1/capacity").await.json()
    }

    pub async fn machines(&self) -> Vec<Value> {
        let list = self.get("/v1/machines").await.json();
        list["items"].as_array().expect("a list").clone()
    }
}

/// The path of a machine.
pub fn machine(id: Uuid) -> String {
    format!("/v1/machines/{id}")
}

/// A small machine.
pub fn spec(name: &str) -> Value {
    json!({
        "name": name,
        "cpus": 1,
        "memoryBytes": 64 << 20,
        "rootDisk": {"sizeBytes": 1 << 30},
        "interfaces": [{"network": "default"}],
    })
}

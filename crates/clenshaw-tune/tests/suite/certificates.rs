//! Certificates of authorities and servers for tests.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// A certificate and its private key in PEM format.
pub struct ServerCertificate {
    pub certificate: String,
    pub key: String,
}

/// Whether a certificate is valid today.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    Valid,
    Expired,
}

/// An authority that signs certificates.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    /// Creates an authority.
    pub fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::self_signed(authority_params(Vec::new()), key).unwrap())
    }

    /// The certificate of the authority in PEM format.
    pub fn certificate(&self) -> String {
        self.0.pem()
    }

    /// Signs the certificate of a server.
    pub fn sign(&self, host: &str, validity: Validity) -> ServerCertificate {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([host.to_owned()]).unwrap();
        if validity == Validity::Expired {
            params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        }
        let certificate = params.signed_by(&key, &self.0).unwrap().pem();
        ServerCertificate { certificate, key: key.serialize_pem() }
    }
}

/// A certificate signed with its own key and marked as an authority, as written by `openssl req -x509`.
pub fn self_signed(host: &str) -> ServerCertificate {
    let key = KeyPair::generate().unwrap();
    let certificate = authority_params(vec![host.to_owned()]).self_signed(&key).unwrap().pem();
    ServerCertificate { certificate, key: key.serialize_pem() }
}

fn authority_params(hosts: Vec<String>) -> CertificateParams {
    let mut params = CertificateParams::new(hosts).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "test authority");
    params
}

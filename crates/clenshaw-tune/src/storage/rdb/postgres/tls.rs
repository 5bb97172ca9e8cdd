//! Encrypted connections to PostgreSQL, with the modes of libpq.
//!
//! | `sslmode` | encrypted | certificate of the server |
//! |---|---|---|
//! | `disable` | no | |
//! | `prefer` (default) | if possible | verified only if root certificates exist |
//! | `require` | yes | verified only if root certificates exist |
//! | `verify-ca` | yes | must be signed by a root certificate |
//! | `verify-full` | yes | must also be valid for the name of the host |
//!
//! `prefer` does not protect against a server that pretends to be another one, because it connects without
//! encryption if TLS fails; neither does `require` without root certificates. As in libpq, root certificates
//! are read from `sslrootcert`, or else from `~/.postgresql/root.crt` if it exists; with
//! `sslrootcert=system`, public authorities are trusted.
//! Unlike libpq, a missing file named by `sslrootcert` is an error in every mode except `disable`,
//! public authorities are those of Mozilla (compiled in), and names of hosts are read only from subject
//! alternative names.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use std::path::PathBuf;
use std::sync::Arc;

/// The value of `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TlsMode {
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl TlsMode {
    /// Parses the value of `sslmode`.
    pub(super) fn parse(name: &str) -> Result<Self, String> {
        Ok(match name {
            "disable" => Self::Disable,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => {
                return Err(format!(
                    "`sslmode` is `{name}`; expected disable, prefer, require, verify-ca or verify-full"
                ));
            }
        })
    }
}

/// Where root certificates come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RootCertificates {
    /// There are none: certificates are not verified.
    None,
    /// A PEM file.
    File(PathBuf),
    /// The public authorities trusted by Mozilla.
    Public,
}

impl RootCertificates {
    /// The certificates named by `sslrootcert`; without it, the default file if it exists.
    pub(super) fn new(sslrootcert: Option<&str>, default: Option<PathBuf>) -> Self {
        match sslrootcert.filter(|name| !name.is_empty()) {
            Some("system") => Self::Public,
            Some(path) => Self::File(path.into()),
            None => default.filter(|path| path.exists()).map_or(Self::None, Self::File),
        }
    }
}

/// Creates the configuration of encrypted connections.
pub(super) fn client_config(
    mode: TlsMode,
    roots: &RootCertificates,
) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = ServerVerifier::new(mode, roots, Arc::clone(&provider))?;
    let builder = ClientConfig::builder_with_provider(provider);
    let builder =
        builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok(config)
}

/// Whether a certificate must be valid for the name of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HostName {
    Ignored,
    Verified,
}

/// Verifies the certificate of a server as the mode requires. The server always has to prove that it owns
/// the key of its certificate.
#[derive(Debug)]
struct ServerVerifier {
    /// The root certificates of a file; empty if none is used.
    certificates: Vec<CertificateDer<'static>>,
    /// The same certificates or, for public ones, those compiled in; `None` if certificates are not verified.
    roots: Option<RootCertStore>,
    host_name: HostName,
    provider: Arc<CryptoProvider>,
}

impl ServerVerifier {
    fn new(
        mode: TlsMode,
        roots: &RootCertificates,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, String> {
        let host_name = match mode {
            TlsMode::VerifyFull => HostName::Verified,
            _ => HostName::Ignored,
        };
        let (certificates, roots) = match roots {
            RootCertificates::None if matches!(mode, TlsMode::VerifyCa | TlsMode::VerifyFull) => {
                return Err(NO_ROOTS.into());
            }
            RootCertificates::None => (Vec::new(), None),
            RootCertificates::Public => {
                (Vec::new(), Some(webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect()))
            }
            RootCertificates::File(path) => {
                read_certificates(path).map(|(list, roots)| (list, Some(roots)))?
            }
        };
        Ok(Self { certificates, roots, host_name, provider })
    }

    /// Verifies the chain from the certificate to a root certificate, unless certificates are not verified. A
    /// valid server certificate that is itself listed as a root certificate is accepted, as in libpq.
    fn verify_chain(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), rustls::Error> {
        let Some(roots) = &self.roots else { return Ok(()) };
        let parsed = ParsedCertificate::try_from(certificate)?;
        let algorithms = self.provider.signature_verification_algorithms.all;
        let verified = verify_server_cert_signed_by_trust_anchor(
            &parsed,
            roots,
            intermediates,
            now,
            algorithms,
        );
        match verified {
            // Certificates written by `openssl req -x509` are marked as those of an authority.
            Err(error) if is_authority_error(&error) && self.certificates.contains(certificate) => {
                Ok(())
            }
            verified => verified,
        }
    }
}

const NO_ROOTS: &str = "verification needs the certificate of the authority that signed the server's: \
                        add `sslrootcert=FILE` to the URL, `sslrootcert=system` for public \
                        authorities, or save it as ~/.postgresql/root.crt";

/// Reads the certificates of a PEM file.
fn read_certificates(
    path: &std::path::Path,
) -> Result<(Vec<CertificateDer<'static>>, RootCertStore), String> {
    let message = |problem: &str| format!("root certificates `{}`: {problem}", path.display());
    crate::storage::location::check_kind(path).map_err(|error| error.to_string())?;
    let bytes = std::fs::read(path).map_err(|error| message(&error.to_string()))?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let certificates = certificates.map_err(|error| message(&error.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in &certificates {
        roots.add(certificate.clone()).map_err(|error| message(&error.to_string()))?;
    }
    match roots.is_empty() {
        true => Err(message("the file contains no certificate in PEM format")),
        false => Ok((certificates, roots)),
    }
}

/// Whether a certificate was rejected because it is marked as that of an authority. This is checked after
/// its validity period.
fn is_authority_error(error: &rustls::Error) -> bool {
    let rustls::Error::InvalidCertificate(CertificateError::Other(other)) = error else {
        return false;
    };
    other.0.downcast_ref() == Some(&webpki::Error::CaUsedAsEndEntity)
}

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.verify_chain(certificate, intermediates, now)?;
        if self.host_name == HostName::Verified {
            verify_server_name(&ParsedCertificate::try_from(certificate)?, host)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Explains why a TLS connection failed; if the certificate has no trusted signer, names the root certificates.
pub(super) fn describe_error(error: &rustls::Error, roots: &RootCertificates) -> String {
    let rustls::Error::InvalidCertificate(reason) = error else {
        return format!("TLS connection failed: {error}");
    };
    match reason {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            let trusted = match roots {
                RootCertificates::File(path) => format!("`{}`", path.display()),
                _ => "the list of public authorities".into(),
            };
            format!("the certificate of the server is not signed by an authority in {trusted}")
        }
        CertificateError::NotValidForName => {
            "the certificate of the server is not valid for this host".into()
        }
        CertificateError::NotValidForNameContext { expected, presented } => format!(
            "the certificate of the server is valid for [{}], but not for host `{}`; \
             `sslmode=verify-ca` does not verify the name",
            presented.join(", "),
            expected.to_str()
        ),
        _ => format!("the certificate of the server is refused: {error}"),
    }
}

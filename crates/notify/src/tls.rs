//! TLS configuration: the certificate authorities that webhooks trust.

use std::io;
use std::sync::Arc;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Trusted certificate authorities.
#[derive(Debug, Clone)]
pub enum Authorities {
    /// Those of this machine, or of `SSL_CERT_FILE` and `SSL_CERT_DIR`.
    System,
    /// Only these.
    Only(Vec<CertificateDer<'static>>),
}

/// Returns the TLS configuration for webhooks. Reads files.
pub(crate) fn config(authorities: &Authorities) -> io::Result<Arc<ClientConfig>> {
    let (certificates, errors) = match authorities {
        Authorities::System => {
            let found = rustls_native_certs::load_native_certs();
            (found.certs, found.errors)
        }
        Authorities::Only(certificates) => (certificates.clone(), Vec::new()),
    };
    let mut roots = RootCertStore::empty();
    // Certificates that cannot be parsed are skipped.
    let (taken, _) = roots.add_parsable_certificates(certificates);
    if taken == 0 {
        let why = errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
        return Err(io::Error::other(format!(
            "this machine has no certificates of authorities{why}: install ca-certificates, or name a file in SSL_CERT_FILE"
        )));
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

package main

// Certificate authorities for where the system has none: images that hold nothing else. The
// system's own, and SSL_CERT_FILE, come first.
import _ "golang.org/x/crypto/x509roots/fallback"

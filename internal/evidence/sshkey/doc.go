// Package sshkey signs notes with Ed25519 keys of SSH. The private key is in an ssh-agent or in an
// OpenSSH key file.
//
// Both give the same signatures. FIDO keys (sk-ssh-ed25519) are refused, because they do not sign
// the plain note. Every signature of an agent is verified, so that an agent can refuse to sign but
// cannot give a wrong signature.
package sshkey

// Package sshkey signs notes with Ed25519 keys of SSH. The private key is in an ssh-agent or in an
// OpenSSH key file.
//
// Both give the same signatures. FIDO keys (sk-ssh-ed25519) are refused, because they sign other
// bytes. Every signature of an agent is verified. An agent can refuse to sign but cannot cause a
// wrong record.
package sshkey

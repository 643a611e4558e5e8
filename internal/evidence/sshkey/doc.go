// Package sshkey signs notes with Ed25519 keys of SSH. The private key is in an ssh-agent or in an
// OpenSSH key file.
//
// The signature of a note is the same, whether the private key is in a file or in the agent. The
// agent may use a hardware token. The key must be a plain Ed25519 key. A FIDO key (sk-ssh-ed25519)
// cannot be used, because it signs other bytes. Every signature of an agent is verified before it
// is returned. An agent can therefore refuse to sign, but it cannot cause a wrong record.
package sshkey

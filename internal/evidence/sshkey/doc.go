// Package sshkey signs notes with Ed25519 keys of SSH, which an ssh-agent or a file of
// OpenSSH has.
//
// A note has the same Ed25519 signature whether the private key is here or in the agent.
// The agent may have the key in a hardware token. It must be a plain Ed25519 key, because a
// FIDO key (sk-ssh-ed25519) signs other bytes. Every signature of an agent is verified
// before it is returned, so an agent can refuse to sign and can never cause a wrong record.
package sshkey

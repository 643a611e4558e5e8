// Package sshkey signs notes with Ed25519 keys of SSH, in an ssh-agent or in an OpenSSH key file.
//
// FIDO keys (sk-ssh-ed25519) are refused, because they do not sign the plain note. Every signature
// of an agent is verified, so that an agent cannot give a wrong one.
package sshkey

package sshkey

import "time"

// SetLimit shortens the time limit for the agent.
func (s *Signer) SetLimit(d time.Duration) { s.limit = d }

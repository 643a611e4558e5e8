package sshkey

import "time"

func (s *Signer) SetLimit(d time.Duration) { s.limit = d }

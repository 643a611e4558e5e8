package events

import "strconv"

func (m Manifest) isEmpty() bool {
	return (m.Beat > 0 || m.Next != "") && m.First > 1 && m.Last == m.First-1
}

func (m Manifest) validateHead() error {
	switch {
	case m.Version != unsignedManifest && m.Version != signedManifest:
		return invalid("v", onlyVersions)
	case m.Producer == "":
		return invalid("producer", "missing")
	case m.First == 0:
		return invalid("first", "sequences start at 1")
	case m.Last < m.First && !m.isEmpty():
		return invalid("last", "before first")
	}
	return nil
}

func (m Manifest) validateState() error {
	switch {
	case m.State != "" && m.State != StateOpen && m.State != StateClosed:
		return invalid("state", "neither open nor closed")
	case (m.State == StateOpen) != (m.Interval > 0):
		return invalid("interval", "only an open producer announces one")
	case m.Interval > MaxInterval:
		return invalid("interval", "longer than 366 days")
	case m.Beat > 0 && (m.State == "" || !m.isEmpty()):
		return invalid("beat", "a heartbeat has a state and lists no number")
	}
	return nil
}

func appendCount(dst []byte, name string, n uint64) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendUint(append(dst, name...), n, 10)
}

func (s *scanner) signedMember(m *Manifest, name string) (err error) {
	switch name {
	case "state":
		var state string
		state, err = s.filled()
		m.State = State(state)
	case "interval":
		m.Interval, err = s.unsigned()
	case "beat":
		m.Beat, err = s.unsigned()
	case "key":
		m.Key, err = s.filled()
	case "next":
		m.Next, err = s.filled()
	case "grant":
		m.Grant, err = s.grant()
	case "sig":
		m.Sig, err = s.filled()
	}
	return err
}

package rules

// A denial records that a tool call was denied. If the call later has a successful result, the
// denial also names the alarm.
type denial struct {
	Event  string `json:"event"` // id of the event that denied the call
	Issue  string `json:"issue,omitempty"`
	Digest string `json:"digest,omitempty"` // digest with the alarm, if the rate limit did not allow an issue
	Entry  int    `json:"entry,omitempty"`  // number of the entry in the digest
}

var denials = table[denial]{kind: "denied"}

func denialID(run, call string) string { return run + "\n" + call }

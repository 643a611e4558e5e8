package rules

// A denial records that a tool call was denied. If the call later succeeds, this raises an alarm,
// and the denial names its issue or digest entry.
type denial struct {
	Event  string `json:"event"` // id of the event that denied the call
	Issue  string `json:"issue,omitempty"`
	Digest string `json:"digest,omitempty"` // digest that lists the alarm if Issue is empty
	Entry  int    `json:"entry,omitempty"`  // number of the entry in the digest
}

var denials = table[denial]{kind: "denied"}

func denialID(run, call string) string { return run + "\n" + call }

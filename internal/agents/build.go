package agents

// build is a payload on its way into events.
type build struct{}

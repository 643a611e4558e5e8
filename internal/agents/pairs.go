package agents

// Pairs gives calls that have no id one that their result has too: the first
// call of a key waits for the first result of that key. It does not matter
// which of them comes first, nor how often each comes. All methods may be called
// concurrently; none fails: what cannot be paired has an empty id.
type Pairs interface {
	// Call returns the id of the call that a payload announces. Payloads of one
	// session with the same mark are the same payload.
	Call(k Key, mark string) string
	// Result returns the id of the call that a payload has the result of.
	Result(k Key, mark string) string
	// Denied tells that a call waits for no result.
	Denied(k Key, id string)
}

// Key is what a call and its result have in common.
type Key struct {
	Session string // with the tenant and the tool
	Call    string // the name of the called tool and the arguments
}

// Memory returns Pairs for one process: an import, a server.
func Memory() Pairs { return nil }

// Dir returns Pairs for processes that each read one payload. They share files
// below dir, one per session and under its own lock, which it creates when they
// are needed. Files that nobody has touched for a week are removed.
func Dir(dir string) Pairs { return nil }

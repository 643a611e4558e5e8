package publisher

import "github.com/hooktrail/hooktrail/internal/hookcall"

// Redaction is the flag --no-redact of commands that take events in.
type Redaction = hookcall.Redaction

package publisher

import "github.com/hooktrail/hooktrail/internal/capture/hookcommand"

// Redaction is the flag --no-redact of commands that take events in.
type Redaction = hookcommand.Redaction

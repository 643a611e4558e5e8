package publisher

import "github.com/hooktrail/hooktrail/internal/capture/hookclient"

// Redaction is the flag --no-redact of commands that take events in.
type Redaction = hookclient.Redaction

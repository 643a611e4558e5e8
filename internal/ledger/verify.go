package ledger

import "time"

// DefaultSilence is how long a run is silent before it counts as one that ended
// without its seal.
const DefaultSilence = 30 * time.Minute

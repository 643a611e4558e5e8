package replay

import (
	"context"
	"fmt"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

// A Stream reads the NATS stream up to the position that the tracker in DataDir has reached.
type Stream struct {
	DataDir  string
	Tenant   string // empty means all
	Examples int    // maximum number per kind of difference
	Dial     func(do func(*broker.Broker) error) error
	Bar      Progress // may be nil
}

// StreamComparison describes how the issues of the stream would differ under a new configuration.
type StreamComparison struct {
	Reproduced Reproduction `json:"reproduced"`
	Comparison
}

// Compare replays the stream with two configurations, today's in base and a new one in changed. It
// compares base with the tracker's issues, to show that a replay is exact. It then compares changed
// with base.
func (s Stream) Compare(ctx context.Context, base, changed *Replay) (result StreamComparison, err error) {
	now, err := takeToday(ctx, s.DataDir, s.Tenant, base.conn)
	if err != nil {
		return result, err
	}
	reason := ""
	err = s.Dial(func(b *broker.Broker) error {
		r, err := openStream(ctx, b, now.position)
		if err != nil {
			return err
		}
		bar := orSilent(s.Bar)
		defer bar.Finish()
		if r.truncated {
			reason = fmt.Sprintf("the stream does not go back further than message %d: what it had before is expired", r.first)
		}
		_, err = fold(r.events(ctx, bar).ofTenant(s.Tenant), false, "stream", base, changed)
		return err
	})
	if err != nil {
		return result, err
	}
	if result.Reproduced, err = now.reproduced(base, s.Examples); err != nil {
		return result, err
	}
	if result.Reproduced.Reason = reason; !now.found {
		result.Reproduced.Reason = "no tracker was at work in this data directory"
	}
	result.Comparison, err = Compare(base, changed, s.Examples)
	return result, err
}

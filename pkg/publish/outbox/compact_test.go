package outbox

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
)

// A crash during compaction leaves records twice. The outbox sends each once.
//
//guarantee:tenant-refused
func TestCompact_Killed(t *testing.T) {
	srv := natstest.Start(t)
	opts := testOptions(t, t.TempDir())
	p := mustOpen(t, offline(t), opts)
	appendMany(t, p, 0, 10)
	kill(p)
	var copies []byte
	ordinal := uint64(10)
	for it, err := range p.outbox.log.All(1) {
		if err != nil {
			t.Fatal(err)
		}
		ordinal++
		it.Ordinal = ordinal
		copies = segment.Append(copies, &it.Record)
	}
	appendFile(t, lastSegment(t, opts.Dir), copies)

	p = mustOpen(t, srv.Connect(t), opts)
	appendMany(t, p, 10, 15)
	mustFlush(t, p)
	if s := p.Stats(); s.Pending != 0 || s.Bytes != 0 {
		t.Errorf("stats %+v", s)
	}
	mustClose(t, p)
	checkShared(t, srv, 15)
}

package publish

import (
	"errors"
	"io"
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
	rd := p.outbox.log.Reader(1)
	defer rd.Close()
	var copies []byte
	for ordinal := uint64(11); ; ordinal++ {
		it, err := rd.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
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

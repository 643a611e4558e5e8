package auditor

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

func drain(tb testing.TB, b *broker.Broker, dir string) {
	tb.Helper()
	if err := Run(auditortest.Deadline(tb), Options{Broker: b, DataDir: dir, Drain: true}); err != nil {
		tb.Fatalf("drain: %v", err)
	}
}

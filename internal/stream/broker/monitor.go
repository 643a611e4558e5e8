package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	monitorEvery = 10 * time.Second
	manySubjects = 500_000
)

func (b *Broker) monitor(ctx context.Context) {
	tick := time.NewTicker(monitorEvery)
	defer tick.Stop()
	for {
		b.check(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (b *Broker) check(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, monitorEvery)
	defer cancel()
	stream, err := b.conn.streams.Stream(ctx, b.opts.Space.EventStream())
	if err != nil {
		return // the users of the stream report this error
	}
	info := stream.CachedInfo()
	b.health.warn(ctx, warnSubjects, subjectWarning(info))
	if e := b.embedded.Load(); e != nil {
		left := info.Config.MaxBytes - int64(info.State.Bytes)
		b.health.warn(ctx, warnDisk, diskWarning(e.dir, left))
		b.health.warn(ctx, warnStore, storeWarning(info.Config.MaxBytes+otherStreams, e.maxStore))
	}
}

func subjectWarning(info *jetstream.StreamInfo) string {
	if info.State.NumSubjects <= manySubjects {
		return ""
	}
	return fmt.Sprintf("stream %s has %d live subjects, more than %d; each costs memory in the server, "+
		"so shorten its MaxAge", info.Config.Name, info.State.NumSubjects, manySubjects)
}

func diskWarning(dir string, left int64) string {
	free, err := diskFree(dir)
	switch {
	case err != nil:
		return err.Error()
	case free < left:
		return fmt.Sprintf("%s has %s free, the event stream may still grow by %s: "+
			"free some space before the disk is full", dir, size(free), size(left))
	case free < smallestStream:
		return fmt.Sprintf("%s has only %s free: free some space before the disk is full", dir, size(free))
	}
	return ""
}

func storeWarning(streams, store int64) string {
	if streams < store {
		return ""
	}
	return fmt.Sprintf("the streams may grow to %s, the store is limited to %s: free some space and restart",
		size(streams), size(store))
}

package auditor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

const grantsWait = 5 * time.Second

func sendGrants(ctx context.Context, o Options) {
	path := broker.Issuer(o.DataDir, o.Logger)
	if path == "" {
		return
	}
	issuer, err := publish.OpenIssuer(path)
	if err != nil {
		return // broker.Issuer has logged an unreadable key
	}
	ctx, cancel := context.WithTimeout(ctx, grantsWait)
	defer cancel()
	folder := filepath.Join(o.DataDir, "outbox")
	entries, err := os.ReadDir(folder)
	if err != nil {
		return // there is no outbox, or it belongs to another user
	}
	for _, entry := range entries {
		dir := filepath.Join(folder, entry.Name())
		s, err := publish.Inspect(dir)
		if err != nil || s.Forwarding || s.Waiting > 0 || !s.OwesGrant(issuer) {
			continue
		}
		if err := sendGrant(ctx, o, path, dir, s); err != nil && ctx.Err() == nil {
			o.Logger.WarnContext(ctx, "grant of an outbox not sent, its producer is not enrolled", "outbox", entry.Name(), "error", err)
		}
	}
}

func sendGrant(ctx context.Context, o Options, issuer, dir string, s publish.State) error {
	open := publish.Open
	if s.Shared {
		open = publish.OpenShared
	}
	space := o.Broker.Space()
	p, err := open(ctx, o.Broker.Conn(), publish.Options{
		Dir: dir, Journal: publish.JournalDir(o.DataDir), Name: s.Name, Unique: s.Unique, Redactor: publish.NoRedaction, Logger: o.Logger,
		SubjectPrefix: space.Prefix, StreamPrefix: space.StreamPrefix, Issuer: issuer,
	})
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	return p.Close(ctx) // sends the grants
}

package hookclient

import (
	"context"
	"encoding/hex"
	"errors"
	"net/url"
	"strconv"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/hooksocket"
)

var errOwnHooks = errors.New("--hooks: a publisher at a socket decides with its own hooks; start it with this file")

func (c *call) answerRemote(ctx context.Context, raw []byte, p agents.Payload) (agents.Reply, error) {
	wait := quickResponse
	if canDeny(p) {
		wait = c.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, max(wait, recordTimeout))
	defer cancel()
	query := url.Values{}
	if c.Event != "" {
		query.Set("event", c.Event)
	}
	if c.Tenant != "" {
		query.Set("tenant", c.Tenant)
	}
	header := map[string]string{"Content-Type": "application/json", hooksocket.ProgressHeader: "required"}
	if c.idKey != nil {
		header[hooksocket.IDKeyHeader] = hex.EncodeToString(c.idKey)
	}
	resp, err := c.publisher.do(ctx, hooksocket.Request{Path: "/v1/hooks/" + c.Tool.Name() + "?" + query.Encode(), Header: header, Body: raw}, wait)
	if err != nil {
		return agents.Reply{}, err
	}
	exit, errExit := strconv.Atoi(resp.Header.Get(hooksocket.ExitHeader))
	stderr, errText := url.QueryUnescape(resp.Header.Get(hooksocket.StderrHeader))
	if errExit != nil || errText != nil {
		return agents.Reply{}, errOutcome
	}
	return agents.Reply{Stdout: resp.Body, Stderr: stderr, Exit: exit}, nil
}

func (c *call) runRemote(ctx context.Context, raw []byte, p agents.Payload, strict bool, unreadable error) (reply agents.Reply, ok bool) {
	reply, c.remote = c.answerRemote(ctx, raw, p)
	if c.remote != nil {
		return agents.Reply{}, false
	}
	c.setFallback(p.Events, reply, false)
	if len(c.problems) > 0 {
		c.note(c.record(ctx, c.problemEvent(callOf(p.Events), nil)))
	}
	c.note(c.recorder.resend(ctx))
	err := errors.Join(unreadable, c.Invalid)
	if strict && err != nil {
		return c.Tool.FailClosed(p, closedReason(err)), true
	}
	return reply, true
}

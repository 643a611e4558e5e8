package subjects

import (
	"fmt"
	"strings"
)

// CheckpointBucket returns the name of the NATS key-value bucket that stores checkpoints and
// leases.
func (s Space) CheckpointBucket() string { return s.stream("CHECKPOINTS") }

// CheckpointStream returns the name of the stream that stores the contents of
// [Space.CheckpointBucket].
func (s Space) CheckpointStream() string { return "KV_" + s.CheckpointBucket() }

// AllCheckpoints returns the filter for all keys in the checkpoint bucket.
func (s Space) AllCheckpoints() string { return s.checkpoint(">") }

func (s Space) checkpoint(key string) string { return "$KV." + s.CheckpointBucket() + "." + key }

// CheckpointKey returns the key of a tenant's newest checkpoint and the subject for writing it.
func (s Space) CheckpointKey(tenant string) (key, subject string, err error) {
	if key, err = Token(tenant); err != nil {
		return "", "", fmt.Errorf("tenant id: %w", err)
	}
	return key, s.checkpoint(key), nil
}

// LeaseKey returns the key of an auditor's lease and its subject. durable is the consumer of the
// active auditor.
func (s Space) LeaseKey(durable string) (key, subject string) {
	key = "lease." + durable
	return key, s.checkpoint(key)
}

// Standby returns the name of the standby's durable consumer. durable is the consumer of the active
// service.
func Standby(durable string) string {
	name, tenant, alone := strings.Cut(durable, "==")
	if !alone {
		return name + "-standby"
	}
	return name + "-standby==" + tenant
}

func (r *Rights) consume(s Space, durable string) {
	ev := s.EventStream()
	r.Publish = append(r.Publish,
		"$JS.API.CONSUMER.CREATE."+ev+"."+durable,
		"$JS.API.CONSUMER.DELETE."+ev+"."+durable,
		"$JS.API.CONSUMER.RESET."+ev+"."+durable,
		"$JS.API.CONSUMER.MSG.NEXT."+ev+"."+durable,
		"$JS.ACK."+ev+"."+durable+".>",
	)
}

func (r *Rights) storeCheckpoints(s Space, durable string) {
	r.Publish = append(r.Publish, "$JS.API.STREAM.MSG.GET."+s.CheckpointStream(), s.AllCheckpoints())
	r.consume(s, Standby(durable))
}

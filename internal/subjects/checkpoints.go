package subjects

import (
	"fmt"
	"strings"
)

// CheckpointBucket names the key-value bucket of checkpoints. It has a key for each
// tenant ([Space.CheckpointKey]) and for each lease ([Space.LeaseKey]).
func (s Space) CheckpointBucket() string { return s.stream("CHECKPOINTS") }

// CheckpointStream names the stream of the bucket of checkpoints.
func (s Space) CheckpointStream() string { return "KV_" + s.CheckpointBucket() }

// AllCheckpoints returns the filter for all keys of the bucket.
func (s Space) AllCheckpoints() string { return s.checkpoint(">") }

// checkpoint returns the subject of a key of the bucket.
func (s Space) checkpoint(key string) string { return "$KV." + s.CheckpointBucket() + "." + key }

// CheckpointKey returns the key and the subject of a tenant's newest checkpoint. The
// key is the token of the tenant, which contains no dot.
func (s Space) CheckpointKey(tenant string) (key, subject string, err error) {
	if key, err = Token(tenant); err != nil {
		return "", "", fmt.Errorf("tenant id: %w", err)
	}
	return key, s.checkpoint(key), nil
}

// LeaseKey returns the key and the subject of the lease that the active auditor of some
// tenants takes. durable is the durable of the active auditor.
func (s Space) LeaseKey(durable string) (key, subject string) {
	key = "lease." + durable
	return key, s.checkpoint(key)
}

// Standby names the durable of the standby for the service with this durable.
func Standby(durable string) string {
	name, tenant, alone := strings.Cut(durable, "==")
	if !alone {
		return name + "-standby"
	}
	return name + "-standby==" + tenant
}

// consume adds the rights to read with a durable.
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

// storeCheckpoints adds the rights of an auditor to use the bucket and to be a standby.
func (r *Rights) storeCheckpoints(s Space, durable string) {
	r.Publish = append(r.Publish, "$JS.API.STREAM.MSG.GET."+s.CheckpointStream(), s.AllCheckpoints())
	r.consume(s, Standby(durable))
}

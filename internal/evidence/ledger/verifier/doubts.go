package verifier

// Doubts lists the records that may be forged, up to a limit. The lists in [Report] are shorter.
type Doubts struct {
	Foreign    []Foreign
	Claims     []FindingAt // records that claim the identity of another record
	Incomplete bool        // the ledger has more than maxForeign records of a kind
}

func doubtsOf(c *completeness) (*Doubts, error) {
	claims := c.contrary.claims
	d := &Doubts{
		Foreign: c.found.list, Claims: make([]FindingAt, len(claims)),
		Incomplete: c.found.count > int64(len(c.found.list)) || c.contrary.count > int64(len(claims)),
	}
	for i, one := range claims {
		if err := c.contrary.original(&one.FindingAt, one.producer); err != nil {
			return nil, err
		}
		d.Claims[i] = one.FindingAt
	}
	return d, nil
}

package engine

// CheckStays returns an error if the host leaves the site: no run connects to it.
func (h Host) CheckStays() error {
	if !h.Leaving {
		return nil
	}
	return &Failure{Kind: UnreachableFailure, Cause: "the inventory says that it is leaving, so no run connects to it"}
}

package laws

// checkLogin checks that a setting which touches the way of the run's account into
// its host is written on probation, and to one host of its pool before the others. Hosts
// with settings of their own follow the first of these hosts together, because nothing
// that differs can be proved beforehand. A host that waits for a login of another run
// does not count: no run could know.
func (r *Run) checkLogin(h *Host, o SettingOrder) {
	if !o.Login {
		return
	}
	if !o.Probation {
		r.reportViolation("%s gets %s, which may prevent logins, without probation", h.Name, o.Word)
	}
	proved := false // another setting
	for _, other := range r.observer.Hosts {
		if other.Pool != h.Pool || other == h || other.Probation {
			continue
		}
		if other.Setting.Disk == o.Word {
			return // a login has worked with this setting
		}
		proved = proved || other.ProvedBy == r.ID
	}
	for _, other := range r.observer.Hosts {
		if other.Pool == h.Pool && other != h && other.Probation && other.ProbedBy == r.ID && (!proved || other.Setting.Disk == o.Word) {
			r.reportViolation("%s and %s of pool %s may lose their logins together", other.Name, h.Name, h.Pool)
		}
	}
}

// checkWayIn checks that no host refuses new logins because of a setting that is not
// on probation.
func (r *Run) checkWayIn(h *Host) {
	if h.LockedOut && !h.Probation {
		r.reportViolation("%s has lost the way in of holdfast", h.Name)
	}
}

package laws

// checkSurvivor checks that no deployment goes while the process of an etcd member runs from it: no OS is staged or
// booted that would remove it.
func (r *Run) checkSurvivor(h *Host, how string) {
	if h.MemberOS != "" && h.MemberOS != h.Booted {
		r.reportViolation("%s is %s while its etcd member runs from %s, not from %s", h.Name, how, h.MemberOS, h.Booted)
	}
}

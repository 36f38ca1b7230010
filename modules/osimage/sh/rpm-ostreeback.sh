restore_previous() { rpm-ostree rollback; }
drop_staged() { rpm-ostree cleanup --pending; }

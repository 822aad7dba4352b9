#include "executors/cancel.h"

#include "tests/with_cmocka.h"

struct counting_watch {
	struct cancel_watch watch;
	unsigned calls;
};

static void count_call(struct cancel_watch *watch)
{
	((struct counting_watch *)watch)->calls++;
}

static void a_token_fires_once_and_keeps_its_first_reason(void **state)
{
	struct counting_watch watch = {.watch.notify = count_call};
	struct cancel cancel;

	(void)state;
	cancel_init(&cancel, NULL);
	cancel_watch_add(&cancel, &watch.watch);
	assert_int_equal(cancel_reason(&cancel), CANCEL_NONE);
	cancel_fire(&cancel, CANCEL_OVERLOAD);
	cancel_fire(&cancel, CANCEL_SHUTDOWN);
	assert_int_equal(cancel_reason(&cancel), CANCEL_OVERLOAD);
	assert_int_equal(watch.calls, 1);
	cancel_watch_remove(&cancel, &watch.watch);
	cancel_finish(&cancel);
}

static void firing_reaches_every_token_below(void **state)
{
	struct cancel root, children[3], grandchild;

	(void)state;
	cancel_init(&root, NULL);
	for (int i = 0; i < 3; i++)
		cancel_init(&children[i], &root);
	cancel_init(&grandchild, &children[1]);
	cancel_fire(&root, CANCEL_DEADLINE);
	for (int i = 0; i < 3; i++)
		assert_int_equal(cancel_reason(&children[i]), CANCEL_DEADLINE);
	assert_int_equal(cancel_reason(&grandchild), CANCEL_DEADLINE);
	cancel_finish(&grandchild);
	for (int i = 0; i < 3; i++)
		cancel_finish(&children[i]);
	cancel_finish(&root);
}

static void firing_reaches_neither_parent_nor_siblings(void **state)
{
	struct cancel root, fired, sibling;

	(void)state;
	cancel_init(&root, NULL);
	cancel_init(&fired, &root);
	cancel_init(&sibling, &root);
	cancel_fire(&fired, CANCEL_SIBLING_DONE);
	assert_int_equal(cancel_reason(&root), CANCEL_NONE);
	assert_int_equal(cancel_reason(&sibling), CANCEL_NONE);
	cancel_finish(&sibling);
	cancel_finish(&fired);
	cancel_finish(&root);
}

static void a_token_below_a_fired_one_is_born_fired(void **state)
{
	struct cancel root, late;

	(void)state;
	cancel_init(&root, NULL);
	cancel_fire(&root, CANCEL_CLIENT_GONE);
	cancel_init(&late, &root);
	assert_int_equal(cancel_reason(&late), CANCEL_CLIENT_GONE);
	cancel_finish(&late);
	cancel_finish(&root);
}

static void a_watch_added_late_is_notified_at_once(void **state)
{
	struct counting_watch watch = {.watch.notify = count_call};
	struct cancel cancel;

	(void)state;
	cancel_init(&cancel, NULL);
	cancel_fire(&cancel, CANCEL_SHUTDOWN);
	cancel_watch_add(&cancel, &watch.watch);
	assert_int_equal(watch.calls, 1);
	cancel_watch_remove(&cancel, &watch.watch);
	cancel_finish(&cancel);
}

static void removed_watches_are_not_notified(void **state)
{
	struct counting_watch watches[3];
	struct cancel cancel;

	(void)state;
	for (int removed = 0; removed < 3; removed++) {
		cancel_init(&cancel, NULL);
		for (int i = 0; i < 3; i++) {
			watches[i] = (struct counting_watch){.watch.notify = count_call};
			cancel_watch_add(&cancel, &watches[i].watch);
		}
		cancel_watch_remove(&cancel, &watches[removed].watch);
		cancel_watch_remove(&cancel, &watches[removed].watch);
		cancel_fire(&cancel, CANCEL_SHUTDOWN);
		for (int i = 0; i < 3; i++) {
			assert_int_equal(watches[i].calls, i != removed);
			cancel_watch_remove(&cancel, &watches[i].watch);
		}
		cancel_finish(&cancel);
	}
}

static void every_reason_has_a_name(void **state)
{
	(void)state;
	assert_string_equal(cancel_reason_name(CANCEL_NONE), "none");
	for (int reason = CANCEL_NONE; reason <= CANCEL_OVERLOAD; reason++)
		assert_non_null(cancel_reason_name((enum cancel_reason)reason));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_token_fires_once_and_keeps_its_first_reason),
		cmocka_unit_test(firing_reaches_every_token_below),
		cmocka_unit_test(firing_reaches_neither_parent_nor_siblings),
		cmocka_unit_test(a_token_below_a_fired_one_is_born_fired),
		cmocka_unit_test(a_watch_added_late_is_notified_at_once),
		cmocka_unit_test(removed_watches_are_not_notified),
		cmocka_unit_test(every_reason_has_a_name),
	};

	return cmocka_run_group_tests_name("cancel", tests, NULL, NULL);
}

/*
 * A carrier that is handed over from tasks that keep it: the word, the permits,
 * the inbox and the sleep, as executors/coroutine/ has them. "Line 1" to "line 4"
 * are those of the table in carrier.h, in its order:
 *
 *	1  SCHED(s) -> TASK(s)     coroutine_release()
 *	2  TASK(s)  -> SCHED(s)    coroutine_claim()
 *	3  TASK(s)  -> SCHED(s+1)  the monitor
 *	4  SCHED(s) -> SCHED(s+1)  turn_switches_to()
 *
 * Two tasks of one carrier take turns: who has the turn passes it on and wakes
 * the other, who has not parks. Each returns after ROUNDS turns. Between any two
 * of their steps the monitor may find that the carrier is kept, HANDOVERS times.
 *
 * Checked: nobody touches a carrier that another one owns; no stack is run twice
 * at once; nothing stands in two queues, or twice in one; and, since a state in
 * which nothing can go on is an error, no wake-up is lost.
 *
 * Each of these, defined, is a mistake that the search has to find:
 *	PUSHED_ON_ITS_STACK       who lost the carrier is in the inbox before it has
 *	                          left its stack
 *	CLAIM_WITHOUT_COMPARE     the monitor takes the carrier whatever the word is by then
 *	CALL_WITHOUT_COMPARE      a claiming call takes it likewise
 *	SPARE_AFTER_CLAIM         the monitor looks for a driver only once it has won
 *	PARKED_WITHOUT_COMPARE    a park does not see the wake that came meanwhile
 *	SLEEPS_WITHOUT_LOOKING    the inbox is not looked at again after `sleeping` is set
 *
 * Memory is sequentially consistent here: nothing is said of the orders in
 * the table. Timers, cancellation and the end of a carrier are left out.
 */
#define TASKS 2
#define DRIVERS 3

#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef HANDOVERS
#define HANDOVERS 2
#endif

/* The carrier. */
byte sequence = 1; /* the word: this, and whether it is TASK */
bool in_task;
byte current;
bool ready[TASKS], inbox[TASKS];
bool sleeping;
bool event; /* the eventfd has been written */

/* The tasks. */
#define NONE 0
#define NOTED 1
#define PARKED 2
byte permit[TASKS];
bool ended[TASKS];
byte turns_left[TASKS] = ROUNDS;
byte turn; /* whose it is */

/* Where a task goes on when it is switched to. */
#define AT_START 0
#define CLAIMED_TO_PARK 1 /* had lost the carrier: its call has just begun */
#define CLAIMED_TO_RETURN 2
#define LEFT_TO_PARK 3
byte resume_at[TASKS];

/* The drivers. */
bool is_spare[DRIVERS], given[DRIVERS];

/* What the program does not have, for the checks: who may touch the carrier, and who is where. */
#define MONITOR 100
#define NOBODY 101
byte owner;
bool on_stack[TASKS];

byte handed_over;

#define everything_ended (ended[0] && ended[1])
#define in_a_queue(task) (ready[task] || inbox[task])

inline take_ownership(who)
{
	assert(owner == NOBODY);
	owner = who
}

/* Line 1. */
inline release()
{
	d_step {
		assert(owner == me && !in_task);
		owner = NOBODY;
		expected = sequence;
		in_task = true
	}
}

/* Line 2. If it is lost, @task goes on at @stage. */
inline claim(stage)
{
	d_step {
		if
#ifdef CALL_WITHOUT_COMPARE
		:: true ->
#else
		:: in_task && sequence == expected ->
#endif
			in_task = false;
			take_ownership(me);
			won = true
		:: else ->
			resume_at[task] = stage;
			won = false
		fi;
		expected = 0
	}
}

/* inbox_push() and coroutine_carrier_wake(): a load, then an exchange. */
inline push_to_inbox(pushed)
{
	d_step {
		assert(!in_a_queue(pushed));
		inbox[pushed] = true
	}
	if
	:: sleeping ->
		d_step {
			event = event || sleeping;
			sleeping = false
		}
	:: else
	fi
}

/* carrier_poll(), with nothing ready. */
inline sleep_until_woken()
{
#ifdef SLEEPS_WITHOUT_LOOKING
	if
	:: inbox[0] || inbox[1] -> skip
	:: else ->
		sleeping = true;
		event || everything_ended
	fi;
#else
	sleeping = true;
	if
	:: inbox[0] || inbox[1] -> skip
	:: else -> event || everything_ended
	fi;
#endif
	d_step {
		event = false;
		sleeping = false
	}
}

proctype driver(byte me)
{
	byte task, other, expected, before;
	bool won;

as_spare:
	/* wait_for_carrier() */
	is_spare[me] = !given[me];
	if
	:: atomic {
		given[me] ->
		given[me] = false;
		take_ownership(me)
	}
	:: atomic { everything_ended && !given[me] -> goto over }
	fi;

scheduler: /* owns the carrier */
	atomic {
		assert(owner == me);
		ready[0] = ready[0] || inbox[0];
		ready[1] = ready[1] || inbox[1];
		inbox[0] = false;
		inbox[1] = false
	}
	if
	:: atomic { ready[0] -> ready[0] = false; task = 0 }
	:: atomic { ready[1] -> ready[1] = false; task = 1 }
	:: atomic { everything_ended -> owner = NOBODY; goto over }
	:: !ready[0] && !ready[1] && !everything_ended ->
		sleep_until_woken();
		goto scheduler
	fi;

enter:
	skip;
	/* Line 4; then the stack. */
	d_step {
		assert(owner == me && !in_task && !on_stack[task] && !ended[task]);
		sequence++;
		current = task;
		other = 1 - task;
		on_stack[task] = true
	}
	if
	:: resume_at[task] == AT_START -> skip
	:: resume_at[task] == CLAIMED_TO_PARK -> goto park
	:: resume_at[task] == CLAIMED_TO_RETURN -> goto leave
	:: resume_at[task] == LEFT_TO_PARK -> permit[task] = NONE
	fi;
	release();

code: /* the task's own; the carrier may be taken from here on */
	if
	:: turns_left[task] > 0 && turn == task ->
		turns_left[task]--;
		turn = other;
		/* task_wake() */
		d_step { before = permit[other]; permit[other] = NOTED }
		if
		:: before == PARKED -> push_to_inbox(other)
		:: else
		fi;
		goto code
	:: turns_left[task] > 0 && turn != task ->
		claim(CLAIMED_TO_PARK);
		if
		:: won -> goto park
		:: else -> goto lost
		fi
	:: turns_left[task] == 0 ->
		claim(CLAIMED_TO_RETURN);
		if
		:: won -> goto leave
		:: else -> goto lost
		fi
	fi;

park: /* coroutine_park(), claimed: says that it is parked while it still is on its stack */
	atomic {
		before = permit[task];
		if
#ifdef PARKED_WITHOUT_COMPARE
		:: true ->
			before = NONE;
			permit[task] = PARKED
#else
		:: before == NONE -> permit[task] = PARKED
		:: else -> permit[task] = NONE
#endif
		fi
	}
	if
	:: before == NOTED ->
		release();
		goto code
	:: else
	fi;
	/* make_way() */
	resume_at[task] = LEFT_TO_PARK;
	if
	:: goto to_the_driver /* the turn is over */
	:: skip
	fi;
	atomic {
		assert(owner == me);
		ready[0] = ready[0] || inbox[0];
		ready[1] = ready[1] || inbox[1];
		inbox[0] = false;
		inbox[1] = false
	}
	if
	:: ready[task] -> /* woken meanwhile: it goes on where it is */
		d_step {
			assert(owner == me && !in_task && on_stack[task]);
			ready[task] = false;
			sequence++
		}
		permit[task] = NONE;
		release();
		goto code
	:: ready[other] -> /* straight to the other's stack */
		d_step {
			ready[other] = false;
			on_stack[task] = false;
			task = other
		}
		goto enter
	:: else
	fi;
to_the_driver:
	on_stack[task] = false;
	goto scheduler;

leave: /* coroutine_main(), claimed */
	atomic { on_stack[task] = false; ended[task] = true }
	goto scheduler;

lost: /* AFTER_LOST: only the driver's own stack lets the inbox have the task */
#ifdef PUSHED_ON_ITS_STACK
	push_to_inbox(task);
	on_stack[task] = false;
#else
	on_stack[task] = false;
	push_to_inbox(task);
#endif
	goto as_spare;

over:
	skip
}

/* driver_pool_take(): the first to be found, or none. */
inline take_spare()
{
	d_step {
		if
		:: is_spare[0] -> spare = 0
		:: !is_spare[0] && is_spare[1] -> spare = 1
		:: !is_spare[0] && !is_spare[1] && is_spare[2] -> spare = 2
		:: else -> spare = DRIVERS
		fi;
		if
		:: spare < DRIVERS -> is_spare[spare] = false
		:: else
		fi
	}
}

/* Line 3. */
inline win()
{
	d_step {
		if
#ifdef CLAIM_WITHOUT_COMPARE
		:: true ->
#else
		:: in_task && sequence == seen ->
#endif
			in_task = false;
			sequence = seen + 1;
			take_ownership(MONITOR);
			handed_over++;
			won = true
		:: else -> won = false
		fi
	}
}

/* driver_give() */
inline give()
{
	d_step {
		/* The task can end only once it has rejoined: its coroutine is there. */
		assert(owner == MONITOR && !ended[current]);
		owner = NOBODY;
		given[spare] = true
	}
}

proctype monitor()
{
	byte seen, spare;
	bool won;

	do
	:: atomic { in_task && handed_over < HANDOVERS -> seen = sequence }
#ifdef SPARE_AFTER_CLAIM
		win();
		if
		:: won ->
			take_spare();
			if
			:: spare < DRIVERS -> give()
			:: else /* and now? */
			fi
		:: else
		fi
#else
		take_spare();
		if
		:: spare == DRIVERS -> skip /* counted; another look at the next tick */
		:: else ->
			win();
			if
			:: won -> give()
			:: else -> is_spare[spare] = true /* driver_pool_put_back() */
			fi
		fi
#endif
	:: handed_over == HANDOVERS -> break
	:: everything_ended -> break
	od
}

init {
	atomic {
		ready[0] = true;
		ready[1] = true;
		owner = NOBODY;
		given[0] = true;
		run driver(0);
		run driver(1);
		run driver(2);
		run monitor()
	}
}

CREATE TABLE `archived_usage` (
	`tenant_id` text NOT NULL,
	`session_id` text NOT NULL,
	`through_seq` integer NOT NULL,
	`list_nano` integer NOT NULL,
	`billed_nano` integer NOT NULL,
	PRIMARY KEY(`tenant_id`, `session_id`)
) STRICT;
--> statement-breakpoint
CREATE TABLE `price_aliases` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`target_provider` text,
	`target_model` text,
	`effective_from` integer NOT NULL,
	`recorded_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `price_aliases_moment` ON `price_aliases` (`provider`,`model`,`tenant_id`,`effective_from`);--> statement-breakpoint
CREATE TABLE `usage_archives` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`key` text NOT NULL,
	`events` integer NOT NULL,
	`bytes` integer NOT NULL,
	`sha256` text NOT NULL,
	`first_occurred_at` integer NOT NULL,
	`last_occurred_at` integer NOT NULL,
	`list_nano` integer NOT NULL,
	`billed_nano` integer NOT NULL,
	`created_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `usage_archives_tenant` ON `usage_archives` (`tenant_id`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `usage_days` (
	`tenant_id` text NOT NULL,
	`start` integer NOT NULL,
	`end` integer NOT NULL,
	`session_id` text NOT NULL,
	`user_id` text NOT NULL,
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`purpose` text NOT NULL,
	`class` text NOT NULL,
	`events` integer NOT NULL,
	`quantity` integer NOT NULL,
	`list_nano` integer NOT NULL,
	`billed_nano` integer NOT NULL,
	`unpriced_events` integer NOT NULL,
	PRIMARY KEY(`tenant_id`, `start`, `end`, `session_id`, `user_id`, `provider`, `model`, `purpose`, `class`)
) STRICT;
--> statement-breakpoint
CREATE INDEX `usage_days_start` ON `usage_days` (`start`);--> statement-breakpoint
ALTER TABLE `usage_events` ADD `inconsistent` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `sessions_parent` ON `sessions` (`tenant_id`,`parent_session_id`);
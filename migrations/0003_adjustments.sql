ALTER TABLE `usage_events` ADD `adjusts` text;--> statement-breakpoint
CREATE INDEX `usage_events_adjusts` ON `usage_events` (`tenant_id`,`session_id`,`adjusts`) WHERE adjusts IS NOT NULL;